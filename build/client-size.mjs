// Bundles the built browser client as an application would and holds it to its size budget.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const budget = { withoutUpload: 2816, withUpload: 11264, queue: 2304 }

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const clientSource = join(root, 'src', 'client') + sep

if (!existsSync(join(dist, 'client.js'))) {
  console.error('dist/client.js is missing: run `npm run build` first.')
  process.exit(1)
}

/** What an application imports that reads objects, everything of the client, and the queue with it. */
const [reading, all, queue] = await Promise.all(
  [
    `export { createS3Client, dbClient } from './client.js'`,
    `export * from './client.js'`,
    `export * from './client.js'; export * from './uploads.js'`,
  ].map(bundle),
)
const sizeOf = ({ sizes }, chunks) => [...chunks].reduce((sum, chunk) => sum + sizes.get(chunk), 0)

const problems = [
  ...foreignSources(queue.inputs),
  ...overBudget('without upload', sizeOf(reading, loadedAtStart(reading)), budget.withoutUpload),
  ...overBudget('with upload', sizeOf(all, all.sizes.keys()), budget.withUpload),
  ...overBudget('queue', sizeOf(queue, queue.sizes.keys()) - sizeOf(all, all.sizes.keys()), budget.queue),
]
for (const problem of problems) console.error(`client size: ${problem}`)
if (problems.length > 0) process.exitCode = 1

/** Bundles as an application would. Resolves to the inputs and outputs, with the size of each output. */
async function bundle(contents) {
  const { metafile, outputFiles } = await build({
    stdin: { contents, resolveDir: dist },
    bundle: true,
    minify: true,
    // Makes any `node:` import an error of the bundler.
    platform: 'browser',
    format: 'esm',
    splitting: true,
    metafile: true,
    // Nothing is written; the bundler still wants to know where the chunks would go.
    write: false,
    outdir: join(root, 'bundle'),
    absWorkingDir: root,
    logLevel: 'silent',
  }).catch((error) => {
    console.error(error.message)
    process.exit(1)
  })
  const sizes = new Map(
    outputFiles.map((file) => [
      relative(root, file.path).replaceAll(sep, '/'),
      gzipSync(file.contents).length,
    ]),
  )
  return { ...metafile, sizes }
}

/** The entry and the chunks it imports statically: what a page loads before anybody uploads. */
function loadedAtStart({ outputs }) {
  const loaded = new Set(Object.keys(outputs).filter((path) => outputs[path].entryPoint?.endsWith('<stdin>')))
  for (const path of loaded) {
    for (const { path: imported, kind } of outputs[path].imports) {
      if (kind === 'import-statement') loaded.add(imported)
    }
  }
  return loaded
}

/** A chunk's name doesn't tell whose code it is, its source map does. */
function* foreignSources(inputs) {
  for (const input of Object.keys(inputs)) {
    if (input.endsWith('<stdin>')) continue
    const file = resolve(root, input)
    if (!file.startsWith(dist + sep)) {
      yield `${input} is bundled, but the client has no dependencies`
      continue
    }
    // A file that only exports what others hold has no map.
    if (!existsSync(`${file}.map`)) continue
    for (const source of JSON.parse(readFileSync(`${file}.map`, 'utf8')).sources) {
      const path = resolve(dirname(file), source)
      if (!path.startsWith(clientSource)) yield `${input} holds code of ${relative(root, path)}`
    }
  }
}

function overBudget(what, size, limit) {
  console.log(`client ${what}: ${size} bytes min+gzip (limit ${limit})`)
  return size > limit ? [`${what} is ${size - limit} bytes over its limit`] : []
}
