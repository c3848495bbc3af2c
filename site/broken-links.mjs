// Finds links of a built site that lead nowhere: to a page, a file or a heading that it doesn't have.
// Usage: node site/broken-links.mjs FOLDER [BASE]. Prints each of them and exits with 1 if there is one.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const ORIGIN = 'https://site.invalid'

/**
 * Returns a line for each broken link of the pages in a folder.
 * @param {string} folder
 * @param {string} base the path at which the folder is served, which ends with a slash
 * @returns {string[]}
 */
export function brokenLinks(folder, base = '/') {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.html'),
  )
  const ids = new Map()
  const links = pages.flatMap((page) => {
    const html = readFileSync(join(folder, page), 'utf8')
    ids.set(page, new Set(valuesOf(html, /\s(?:id|name)="([^"]*)"/g)))
    const address = new URL(base + page.split(sep).join('/'), ORIGIN)
    return valuesOf(html, /\s(?:href|src)="([^"]*)"/g).map((link) => ({
      page,
      link,
      target: new URL(link, address),
    }))
  })
  const isBroken = ({ target }) => {
    if (target.origin !== ORIGIN) return false
    if (!target.pathname.startsWith(base)) return true
    const file = fileOf(folder, decodeURIComponent(target.pathname.slice(base.length)))
    if (file === null) return true
    const anchor = decodeURIComponent(target.hash.slice(1))
    return anchor !== '' && ids.has(file) && !ids.get(file).has(anchor)
  }
  return [...new Set(links.filter(isBroken).map(({ page, link }) => `${page}: ${link}`))]
}

function valuesOf(html, pattern) {
  const entities = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
  return [...html.matchAll(pattern)].map(([, value]) =>
    value.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity]),
  )
}

/** Returns the file at a path of the site, relative to the folder, or `null`. */
function fileOf(folder, path) {
  const file = join(folder, path)
  if (!existsSync(file)) return null
  if (!statSync(file).isDirectory()) return relative(folder, file)
  return existsSync(join(file, 'index.html')) ? relative(folder, join(file, 'index.html')) : null
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, base] = process.argv.slice(2)
  const broken = brokenLinks(folder, base)
  for (const line of broken) console.error(line)
  if (broken.length > 0) process.exitCode = 1
}
