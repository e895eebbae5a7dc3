"""A Google Cloud Storage bucket in memory, as far as TensorStore and gcsfs need one."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Objects = dict[str, bytes]


@dataclass
class Traffic:
    """What passed between the bucket and its users.

    Attributes:
        requests: how many requests there were.
        read: bytes of objects that were sent.
        written: bytes of objects that were received.
        copied: bytes that the bucket copied by itself.
        until: the number of requests after which all are refused, as if the credentials had expired; None for none.
    """

    requests: int = 0
    read: int = 0
    written: int = 0
    copied: int = 0
    until: int | None = None


@contextmanager
def serve(objects: Objects, traffic: Traffic | None = None) -> Iterator[str]:
    """Serve a bucket of any name that holds ``objects``; give the server's address."""
    generations: dict[str, int] = {}
    uploads: dict[str, bytes] = {}
    counted = traffic or Traffic()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing."""

        def _refused(self) -> bool:
            counted.requests += 1
            if counted.until is None or counted.requests <= counted.until:
                return False
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer(401, b'{"error": {"code": 401, "message": "Invalid Credentials"}}')
            return True

        def _answer(self, code: int, body: bytes = b"", name: str = "", **headers: str) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
            for header, value in headers.items():
                self.send_header(header, value)
            if name:
                self.send_header("x-goog-generation", str(generations.setdefault(name, 1)))
            self.end_headers()
            self.wfile.write(body)

        def _object(self, name: str) -> bytes:
            sum_of = base64.b64encode(hashlib.md5(objects[name]).digest()).decode()
            facts = {"name": name, "generation": str(generations.setdefault(name, 1)), "size": str(len(objects[name]))}
            return json.dumps({"kind": "storage#object", "bucket": "bucket", "md5Hash": sum_of, **facts}).encode()

        def do_GET(self) -> None:
            if self._refused():
                return
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            _, found, name = url.path.partition("/o/")
            name = unquote(name)
            if not found:
                names = sorted(name for name in objects if name.startswith(query.get("prefix", [""])[0]))
                names = [name for name in names if name >= query.get("startOffset", [""])[0]]
                names = [name for name in names if name < query.get("endOffset", ["\uffff"])[0]]
                items = ",".join(self._object(name).decode() for name in names)
                self._answer(200, f'{{"kind": "storage#objects", "items": [{items}]}}'.encode())
            elif name not in objects:
                self._answer(404)
            elif "alt" in query:
                self._get(name)
            else:
                self._answer(200, self._object(name))

        def _get(self, name: str) -> None:
            body = objects[name]
            wanted = self.headers.get("Range", "")
            if wanted.startswith("bytes="):
                start, end = wanted.removeprefix("bytes=").split("-")
                part = body[int(start or 0) : int(end) + 1 if end else None]
                counted.read += len(part)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{int(start) + len(part) - 1}/{len(body)}")
                self.send_header("Content-Length", str(len(part)))
                self.send_header("x-goog-generation", str(generations.setdefault(name, 1)))
                self.end_headers()
                self.wfile.write(part)
            else:
                counted.read += len(body)
                self._answer(200, body, name)

        def _put(self, name: str, content: bytes) -> None:
            objects[name] = content
            generations[name] = generations.get(name, 1) + 1
            self._answer(200, self._object(name))

        def do_POST(self) -> None:
            if self._refused():
                return
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if "/rewriteTo/" in url.path:
                source, target = (unquote(part.partition("/o/")[2]) for part in url.path.split("/rewriteTo/"))
                counted.copied += len(objects[source])
                objects[target] = objects[source]
                generations[target] = generations.get(target, 1) + 1
                facts = self._object(target).decode()
                self._answer(200, f'{{"kind": "storage#rewriteResponse", "done": true, "resource": {facts}}}'.encode())
                return
            counted.written += len(body)
            if query.get("uploadType") == ["resumable"] and "upload_id" not in query:
                name = query["name"][0] if "name" in query else json.loads(body)["name"]
                uploads[name] = b""
                here = f"http://{self.headers['Host']}{url.path}?uploadType=resumable&upload_id=1&name={name}"
                self._answer(200, Location=here)
            elif "upload_id" in query:
                self._chunk(query["name"][0], body)
            else:
                self._put(query["name"][0], body)

        do_PUT = do_POST

        def _chunk(self, name: str, body: bytes) -> None:
            uploads[name] += body
            whole = self.headers.get("Content-Range", "").rpartition("/")[2]
            if whole == "*":
                self._answer(308, Range=f"bytes=0-{len(uploads[name]) - 1}")
            else:
                self._put(name, uploads.pop(name))

        def do_DELETE(self) -> None:
            if self._refused():
                return
            found = objects.pop(unquote(urlsplit(self.path).path.partition("/o/")[2]), None)
            self._answer(204 if found is not None else 404)

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing about clients that hang up."""

    server = Server(("localhost", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
