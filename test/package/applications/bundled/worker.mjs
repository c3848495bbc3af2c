// Builds a page whose worker has the client, in both formats of workers. Argument: the module of Vite.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const { build } = await import(process.argv[2])
const root = fileURLToPath(new URL('.', import.meta.url))
writeFileSync(`${root}/worker.js`, "new Worker(new URL('./page.js', import.meta.url), { type: 'module' })\n")
for (const format of ['iife', 'es']) {
  const input = { input: 'worker.js', output: { entryFileNames: `worker-${format}.js` } }
  const options = { outDir: `out-${format}`, rollupOptions: input }
  const outcome = build({ root, configFile: false, logLevel: 'silent', worker: { format }, build: options })
  console.log(`${format}: ${await outcome.then(() => 'built').catch(() => 'refused')}`)
}
