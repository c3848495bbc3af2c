import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import express from 'express'

const folder = fileURLToPath(new URL('page', import.meta.url))

/** Bundles the page's scripts and styles once at start-up. Returns a router that serves them and the page from memory. */
export async function bundlePage() {
  const { outputFiles } = await build({
    entryPoints: [`${folder}/app.ts`, `${folder}/style.css`],
    outdir: 'assets',
    write: false,
    bundle: true,
    format: 'esm',
    // Puts the upload code into a chunk that the page loads with the first upload.
    splitting: true,
    minify: true,
    target: 'es2022',
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

/** Sets the headers that keep a page from loading or sending anything but to this server and to the bucket's origin, if there is one. */
export function contentSecurity(storageOrigin) {
  const sources = storageOrigin ? `'self' ${storageOrigin}` : `'self'`
  return (_req, res, next) => {
    res.set({
      'content-security-policy': [
        `default-src 'self'; connect-src ${sources}; img-src ${sources}`,
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
      ].join('; '),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    next()
  }
}
