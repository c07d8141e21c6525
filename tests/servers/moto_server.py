"""moto: S3 in memory, quick to start. It checks and sets without a lock, so here writes are taken one at a time.

It checks no credentials. A write is a PUT, a DELETE, or a POST with a query (which requests to SQS have not).
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from servers.server import Server

App = Callable[[dict[str, Any], Any], Iterable[bytes]]


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            return

    app = one_at_a_time(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Server("moto", f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    thread.join()


def one_at_a_time(app: App) -> App:
    lock = threading.Lock()

    def locked(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        if method in ("PUT", "DELETE") or (method == "POST" and environ.get("QUERY_STRING")):
            with lock:
                return list(app(environ, start_response))
        return app(environ, start_response)

    return locked
