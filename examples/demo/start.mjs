// `npm start`: bundles the demo together with the library's sources, then runs it. `npm run build` would also write type
// declarations and CommonJS, which takes much longer and which the demo doesn't need.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))
const server = new URL('server.mjs', import.meta.url)

// Inside node_modules, where the bundle finds the packages that it imports.
const cache = join(root, 'node_modules', '.cache')
mkdirSync(cache, { recursive: true })
const outdir = mkdtempSync(join(cache, 'svc-db-demo-'))
const removeBundle = () => rmSync(outdir, { recursive: true, force: true })
process.once('exit', removeBundle)

await build({
  entryPoints: [fileURLToPath(server)],
  outdir,
  bundle: true,
  outExtension: { '.js': '.mjs' },
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Loads the AWS SDK only if the demo uses a bucket.
  splitting: true,
  sourcemap: 'inline',
  // Maps @svc/db to the sources, as for the type checker. All other packages stay imports.
  tsconfig: join(root, 'tsconfig.json'),
  packages: 'external',
  // The demo finds its page and its data relative to its own files.
  define: { 'import.meta.url': JSON.stringify(server.href) },
  logLevel: 'error',
})
process.setSourceMapsEnabled(true)
try {
  await import(pathToFileURL(join(outdir, 'server.mjs')))
} catch (error) {
  console.error(`The demo can't start: ${error.message}`)
  process.exit(1)
}
// By now the server runs, and all of the bundle is loaded.
removeBundle()
