"""The workshop: an embedded Kubernetes, image builds and the demo. No part of the product."""
