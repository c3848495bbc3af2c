// Bundles the page with Vite. Argument: its module.
import { fileURLToPath } from 'node:url'

const { build } = await import(process.argv[2])
await build({
  root: fileURLToPath(new URL('.', import.meta.url)),
  configFile: false,
  logLevel: 'warn',
  build: {
    outDir: 'out',
    emptyOutDir: false,
    rollupOptions: { input: 'page.js', output: { entryFileNames: 'vite.mjs' } },
  },
})
