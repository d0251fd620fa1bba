"""Admission webhooks: what the API server asks before it stores an object.

    POST path ─► review.decode ─► hook.wants ─► lookups.answer ─► hook.judge ─► review.encode
                 400 if malformed  pure          reads, in parallel  pure          always an answer in time

`hooks` lists them all. A judge is a pure function of the request and of what was looked up for it;
`configurations` writes the manifests that make the API server ask, `identity` and `rotation` hold the
certificates, and `service.running` puts everything together.
"""
