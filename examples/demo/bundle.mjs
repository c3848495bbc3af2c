import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import express from 'express'

const folder = fileURLToPath(new URL('page', import.meta.url))

/** The page and its code, bundled once at start-up and served from memory. */
export async function bundlePage() {
  const { outputFiles } = await build({
    entryPoints: [`${folder}/app.ts`, `${folder}/style.css`],
    outdir: 'assets',
    write: false,
    bundle: true,
    format: 'esm',
    // The upload code is a chunk that is loaded with the first upload.
    splitting: true,
    minify: true,
    target: 'es2022',
    // As an application sees the package: by its `exports`, not by this repository's aliases.
    tsconfigRaw: {},
    logLevel: 'error',
  })
  const assets = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]))

  const router = express.Router()
  for (const [path, file] of [
    ['/', 'index.html'],
    ['/icon.svg', 'icon.svg'],
  ]) {
    router.get(path, (_req, res) => {
      res.set('cache-control', 'no-cache').sendFile(file, { root: folder })
    })
  }
  router.get('/assets/:name', (req, res, next) => {
    const contents = assets.get(req.params.name)
    if (!contents) return next()
    return res.set('cache-control', 'no-cache').type(req.params.name).send(contents)
  })
  return router
}
