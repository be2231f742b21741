"""A server on this machine for downloads."""

import contextlib
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tpauc.paper.data.archives import RemoteFile


class Server(ThreadingHTTPServer):
    """Serves one body, by the rules that a test sets, and remembers what it was asked for."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = b""
        self.honours_range = True
        self.stops_after = None  # bytes of the body after which the connection is closed
        self.status = None
        self.headers = {}  # instead of the right ones; None leaves one out
        self.asked = []

    def url(self, name):
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"

    def remote(self, name="data.tar.gz", **changed):
        right = {"url": self.url(name), "size": len(self.body), "sha256": hashlib.sha256(self.body).hexdigest()}
        return RemoteFile(**(right | changed))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append(wanted)
        if server.status is not None:
            self.send_error(server.status)
            return
        start, headers = 0, {}
        if wanted and server.honours_range:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            headers["Content-Range"] = f"bytes {start}-{len(server.body) - 1}/{len(server.body)}"
        else:
            self.send_response(200)
        headers["Content-Length"] = str(len(server.body) - start)
        for name, value in (headers | server.headers).items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        end = len(server.body) if server.stops_after is None else server.stops_after
        with contextlib.suppress(ConnectionError):
            self.wfile.write(server.body[start:end])

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serving():
    """Run a server in a thread."""
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()
