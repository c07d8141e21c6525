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


def redact(text: str) -> str:
    """`text` without the passwords, tokens and keys of the URLs in it."""
    text = _PASSWORD.sub(rf"\1:{HIDDEN}@", text)
    text = _WEB_TOKEN.sub(rf"\1{HIDDEN}@", text)
    return _PARAMETER.sub(rf"\1{HIDDEN}", text)
