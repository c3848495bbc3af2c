import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES, StorageError } from '@svc/db'
import { anchorsOf, linkTarget, readDocuments, repository } from './documents.js'

const documents = readDocuments()
const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  version: string
  scripts: Record<string, string>
}
const document = (path: string) => documents.find((candidate) => candidate.path === path)!

describe.each(documents)('$path', (from) => {
  it('has links that lead somewhere', () => {
    const broken = from.links.filter((link) => {
      const target = linkTarget(from, link)
      if (target === null) return false
      if (!existsSync(join(repository, target.path))) return true
      return target.anchor !== null && !anchorsOf(document(target.path)).includes(target.anchor)
    })
    expect(broken).toEqual([])
  })

  it('names only npm scripts that exist', () => {
    const named = [...from.text.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, script]) => script!)
    const standing = [...from.text.matchAll(/\bnpm (start|test)\b/g)].map(([, script]) => script!)
    expect([...named, ...standing].filter((script) => !(script in manifest.scripts))).toEqual([])
  })

  it('has only code blocks of languages that are looked after', () => {
    // `ts` and `js` are compiled and run, and so is `sql`; a block of another kind shows commands or output.
    const known = ['ts', 'js', 'sh', 'sql', 'text', 'json']
    const others = from.blocks.filter(({ language }) => !known.includes(language))
    expect(others.map(({ language, line }) => `line ${line}: "${language}"`)).toEqual([])
  })
})

it('begins the changelog with the version of the package', () => {
  const heading = /^## (?:\[)?(\d+\.\d+\.\d+[^\s\]]*)/m.exec(document('CHANGELOG.md').text)
  expect(heading?.[1]).toBe(manifest.version)
})

it('has a link to every page in the README', () => {
  const readme = document('README.md')
  const linked = readme.links.map((link) => linkTarget(readme, link)?.path)
  const pages = documents.map(({ path }) => path).filter((path) => path !== 'README.md')
  expect(pages.filter((path) => !linked.includes(path))).toEqual([])
})

it('documents every error code with its status, and no other', () => {
  const rows = document('docs/errors.md').text.matchAll(/^\| `([A-Z_]+)`\s*\| (\d{3})/gm)
  const documented = Object.fromEntries([...rows].map(([, code, status]) => [code!, Number(status)]))
  const actual = Object.fromEntries(ERROR_CODES.map((code) => [code, Number(new StorageError(code).status)]))
  expect(documented).toEqual(actual)
})
