module.exports = {
  rewrites: async () => [{ source: '/api/:path*', destination: `${process.env.API}/api/:path*` }],
}
