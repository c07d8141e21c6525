"""Take secrets out of URLs before anybody sees them.

Works on any text, so that an error message that quotes a URL is safe too. It hides rather too much
than too little: an `@` in a path may cost the text before it.
"""

import re

HIDDEN = "***"

_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:@/'\"]*):[^\s'\"]*@", re.IGNORECASE)
_WEB_TOKEN = re.compile(r"(\bhttps?://)[^\s:@/?#'\"]+@", re.IGNORECASE)
_PARAMETER = re.compile(
    r"([?&;][^=&#\s'\"]*(?:pass|pwd|secret|token|key|sig|signature|credential|auth)[^=&#\s'\"]*=)[^&#\s'\"]*",
    re.IGNORECASE,
)
_NESTED = re.compile(r"([?&;][^=&#\s'\"]*=)([^&#\s'\"]*%[^&#\s'\"]*)")


def redact(text: str) -> str:
    """`text` without the passwords, tokens and keys of the URLs in it, and of the URLs that are settings of those."""
    if "%" in text:
        text = _NESTED.sub(_nested, text)
    text = _PASSWORD.sub(rf"\1:{HIDDEN}@", text)
    text = _WEB_TOKEN.sub(rf"\1{HIDDEN}@", text)
    return _PARAMETER.sub(rf"\1{HIDDEN}", text)


def _nested(found: "re.Match[str]") -> str:
    from urllib.parse import unquote

    inner = unquote(found[2])
    return found[0] if redact(inner) == inner else found[1] + HIDDEN
