import { mkdir } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const repository = new URL('../', import.meta.url)
const cache = new URL('node_modules/.cache/svc-db-bench/', repository)

/** Bundles a TypeScript file of the repository and imports it. */
export async function importSource(path) {
  await mkdir(cache, { recursive: true })
  const outfile = fileURLToPath(new URL(`${path.replace(/\W+/g, '-')}.mjs`, cache))
  await build({
    entryPoints: [fileURLToPath(new URL(path, repository))],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    logLevel: 'warning',
  })
  return import(pathToFileURL(outfile).href)
}
