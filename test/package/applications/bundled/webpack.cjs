// Bundles the page with webpack 4 or 5. Arguments: the folder of webpack, and the file to write.
const path = require('path')
const webpack = require(process.argv[2])

const output = path.resolve(process.argv[3])
const configuration = {
  mode: 'production',
  context: __dirname,
  entry: './page.js',
  // The default of webpack 4 is a hash that OpenSSL 3 refuses.
  output: { path: path.dirname(output), filename: path.basename(output), hashFunction: 'sha256' },
  // The test runs the bundle in Node, which can't load more scripts.
  plugins: [new webpack.optimize.LimitChunkCountPlugin({ maxChunks: 1 })],
}

webpack(configuration, (error, stats) => {
  const problems = error ? [error] : [...stats.compilation.errors, ...stats.compilation.warnings]
  for (const { message } of problems) console.error(message)
  process.exitCode = problems.length > 0 ? 1 : 0
})
