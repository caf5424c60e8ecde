"""A small stand-in for the Hugging Face hub: listing, file tree and file downloads of repositories held in memory.

Served: `/api/models/REPO[/revision/REV]`, `/api/models/REPO/tree/REV`, `/REPO/resolve/REV/FILE`, with the headers that
the hub's client needs. Files over 200 bytes count as large-file storage, as weights do on the hub.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


@dataclass
class Repo:
    """Files of one commit; `sent` overrides the bytes really sent for a file; `status` answers every request."""

    files: dict[str, bytes]
    commit: str = "0123456789abcdef0123456789abcdef01234567"
    revisions: tuple[str, ...] = ("main",)
    sent: dict[str, bytes] = field(default_factory=dict)
    status: tuple[int, str] | None = None

    def entries(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        for name, data in self.files.items():
            entry: dict[str, object] = {"path": name, "rfilename": name, "type": "file", "size": len(data)}
            entry["oid"] = entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            if len(data) > 200:
                sha256 = hashlib.sha256(data).hexdigest()
                entry["lfs"] = {"oid": sha256, "sha256": sha256, "size": len(data), "pointerSize": 134}
            found.append(entry)
        return found


@contextmanager
def serve(repos: dict[str, Repo]) -> Iterator[tuple[str, list[str]]]:
    """Run the server; yields its address and the growing list of requested paths."""
    log: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer(send_body=False)

        def do_GET(self) -> None:
            self._answer(send_body=True)

        def _answer(self, send_body: bool) -> None:
            path = unquote(urlsplit(self.path).path).lstrip("/")
            log.append(f"{self.command} {path}")
            headers, body, status = {}, b"", 404
            inner = path.removeprefix("api/models/")
            repo_id = next((name for name in repos if inner == name or inner.startswith(name + "/")), None)
            rest = inner[len(repo_id) + 1 :].split("/", 2) if repo_id else []
            if repo_id is None:
                headers = {"X-Error-Code": "RepoNotFound"}
            elif (refused := repos[repo_id].status) is not None:
                status, headers = refused[0], {"X-Error-Code": refused[1]}
            elif len(rest) > 1 and rest[1] not in (*repos[repo_id].revisions, repos[repo_id].commit):
                headers = {"X-Error-Code": "RevisionNotFound"}
            elif path.startswith("api/models/"):
                repo, status = repos[repo_id], 200
                listing = {"id": repo_id, "sha": repo.commit, "siblings": repo.entries()}
                body = json.dumps(repo.entries() if rest[:1] == ["tree"] else listing).encode()
                headers = {"Content-Type": "application/json"}
            elif rest[0] == "resolve" and rest[2] in repos[repo_id].files:
                repo, status = repos[repo_id], 200
                stated = repo.files[rest[2]]
                body = repo.sent.get(rest[2], stated)
                large = len(stated) > 200
                digest = hashlib.sha256(stated).hexdigest() if large else hashlib.sha1(stated).hexdigest()
                headers = {"X-Repo-Commit": repo.commit, "ETag": f'"{digest}"', "X-Linked-Etag": f'"{digest}"'}
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if send_body:
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", log
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
