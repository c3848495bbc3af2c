module.exports = {
  trailingSlash: true,
  skipTrailingSlashRedirect: true,
  rewrites: async () => [{ source: '/api/:path*', destination: `${process.env.API}/api/:path*` }],
}
