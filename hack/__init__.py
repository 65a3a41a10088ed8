"""Development tools: the local cluster, `make up`, generators."""
