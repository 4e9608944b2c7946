"""FAISS behind the plainest HTTP server that Python has, as a peer of `hashgrove serve` in x/bench/serve.

    python3 faiss_serve.py codes.npy PORT

A request is JSON: {"code": "hex", "k": 10}; the answer has the ids and distances. FAISS uses one thread for each search.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import faiss
import numpy as np

codes = np.load(sys.argv[1])
index = faiss.IndexBinaryFlat(8 * codes.shape[1])
index.add(codes)
faiss.omp_set_num_threads(1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for an answer
    disable_nagle_algorithm = True

    def do_POST(self):
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        code = np.frombuffer(bytes.fromhex(query["code"]), dtype=np.uint8)[None]
        distances, ids = index.search(code, query["k"])
        hits = [{"id": int(i), "distance": int(d)} for i, d in zip(ids[0], distances[0])]
        body = json.dumps({"results": [{"hits": hits}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
