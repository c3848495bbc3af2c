const { BASE_PATH: basePath, BODY_SIZE_LIMIT: proxyClientMaxBodySize } = process.env

export default {
  ...(basePath && { basePath, trailingSlash: true, skipTrailingSlashRedirect: true }),
  experimental: { ...(proxyClientMaxBodySize && { proxyClientMaxBodySize }) },
  serverExternalPackages: ['@electric-sql/pglite'],
  // The packages are links to another folder.
  turbopack: { root: '/' },
}
