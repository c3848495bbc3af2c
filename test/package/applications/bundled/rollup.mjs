// Bundles the page with Rollup, as one script. Argument: its module.
import { fileURLToPath } from 'node:url'

const { rollup } = await import(process.argv[2])
// In place of a plugin for packages, which would have to be installed.
const resolve = {
  resolveId: (name, importer) =>
    name.startsWith('@') ? fileURLToPath(import.meta.resolve(name, importer)) : null,
}
const bundle = await rollup({ input: fileURLToPath(new URL('page.js', import.meta.url)), plugins: [resolve] })
const file = fileURLToPath(new URL('out/rollup.mjs', import.meta.url))
await bundle.write({ file, format: 'iife', name: 'page', inlineDynamicImports: true })
