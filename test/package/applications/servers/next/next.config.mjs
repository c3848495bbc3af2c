const { BODY_SIZE_LIMIT: proxyClientMaxBodySize } = process.env

export default {
  experimental: { ...(proxyClientMaxBodySize && { proxyClientMaxBodySize }) },
  // The packages are links to another folder.
  turbopack: { root: '/' },
}
