"""A Google Cloud Storage bucket in memory, as far as TensorStore needs one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

Objects = dict[str, bytes]


@contextmanager
def serve(objects: Objects) -> Iterator[str]:
    """Serve a bucket of any name that holds ``objects``; give the server's address."""
    generations: dict[str, int] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing."""

        def _answer(self, code: int, body: bytes = b"", name: str = "") -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            if name:
                self.send_header("x-goog-generation", str(generations.setdefault(name, 1)))
            self.end_headers()
            self.wfile.write(body)

        def _object(self, name: str) -> bytes:
            facts = {"name": name, "generation": str(generations.setdefault(name, 1)), "size": str(len(objects[name]))}
            return json.dumps({"kind": "storage#object", "bucket": "bucket", **facts}).encode()

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            _, found, name = url.path.partition("/o/")
            if not found:
                names = sorted(name for name in objects if name.startswith(query.get("prefix", [""])[0]))
                names = [name for name in names if name >= query.get("startOffset", [""])[0]]
                names = [name for name in names if name < query.get("endOffset", ["\uffff"])[0]]
                items = ",".join(self._object(name).decode() for name in names)
                self._answer(200, f'{{"kind": "storage#objects", "items": [{items}]}}'.encode())
            elif unquote(name) not in objects:
                self._answer(404)
            else:
                self._get(unquote(name), query)

        def _get(self, name: str, query: dict[str, list[str]]) -> None:
            body = objects[name]
            wanted = self.headers.get("Range", "")
            if wanted.startswith("bytes="):
                start, end = wanted.removeprefix("bytes=").split("-")
                part = body[int(start or 0) : int(end) + 1 if end else None]
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{int(start) + len(part) - 1}/{len(body)}")
                self.send_header("Content-Length", str(len(part)))
                self.send_header("x-goog-generation", str(generations.setdefault(name, 1)))
                self.end_headers()
                self.wfile.write(part)
            else:
                self._answer(200, body, name)

        def do_POST(self) -> None:
            name = parse_qs(urlsplit(self.path).query)["name"][0]
            objects[name] = self.rfile.read(int(self.headers["Content-Length"]))
            generations[name] = generations.get(name, 1) + 1
            self._answer(200, self._object(name))

        def do_DELETE(self) -> None:
            found = objects.pop(unquote(urlsplit(self.path).path.partition("/o/")[2]), None)
            self._answer(204 if found is not None else 404)

    server = ThreadingHTTPServer(("localhost", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
