"""Crawl a site, politely and once: each page is a task, and the links found on it are pushed as more tasks.

    python examples/crawl.py queues/site https://example.com/

Start it on as many machines as see the folder, stop it and start it again: a page that was fetched is not fetched
again, because the page's address is the task's key and is unique among completed tasks too.
"""

import re
import sys
import urllib.error
import urllib.parse
import urllib.request

import dibs

LINK = re.compile(r'href="([^"#]+)')


def fetch(url: str) -> str:
    request = urllib.request.Request(url, headers={"User-Agent": "dibs-example"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        page: bytes = answer.read()
    return page.decode(errors="replace")


def links(url: str, page: str) -> list[str]:
    """Addresses on the same host that the page links to."""
    host = urllib.parse.urlsplit(url).netloc
    found = {urllib.parse.urljoin(url, href) for href in LINK.findall(page)}
    return sorted(link for link in found if urllib.parse.urlsplit(link).netloc == host)


def add(queue: dibs.Queue, urls: list[str]) -> None:
    queue.push_many(dibs.NewTask(payload={"url": url}, key=url, unique="completed", max_attempts=5) for url in urls)


def main(place: str, start: str) -> None:
    with dibs.open(place) as queue:
        add(queue, [start])
        for lease in queue.claims(wait=2):
            with lease:  # an exception fails the task: it is tried again later, and at last is a dead letter
                url = lease.payload["url"]
                try:
                    page = fetch(url)
                except urllib.error.HTTPError as error:
                    lease.fail(error, retry=error.code >= 500)  # what is not there will not be there later
                    continue
                add(queue, links(url, page))
                lease.result = {"characters": len(page)}
                print(f"{url}: {len(page)} characters", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
