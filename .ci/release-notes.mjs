// Prints the release notes of a version: its section of CHANGELOG.md, with links that work outside of the repository.
// Usage: node .ci/release-notes.mjs VERSION [FILE]. Exits with 1 if the section is missing, empty or has no date.
import { readFileSync } from 'node:fs'
import { repositoryUrl } from './repository.mjs'

const [version, file = new URL('../CHANGELOG.md', import.meta.url)] = process.argv.slice(2)
if (!version) fail('Usage: node .ci/release-notes.mjs VERSION [FILE]')

const sections = readFileSync(file, 'utf8').split(/^## /m)
const section = sections.find(
  (text) => /^ - \d{4}-\d{2}-\d{2}\n/.test(text.slice(version.length)) && text.startsWith(version),
)
if (!section) fail(`CHANGELOG.md has no section "## ${version} - DATE".`)
const [heading, ...lines] = section.split('\n')
const notes = lines.join('\n').trim()
if (notes === '') fail(`CHANGELOG.md: the section "## ${heading}" is empty.`)

// Links in the changelog are relative to the repository. The notes link to the files as they are in this version.
const repository = repositoryUrl()
const target = (path) => `${repository}/blob/v${version}/${path.replace(/^\.\//, '')}`
console.log(
  notes.replaceAll(/\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)/g, (_, text, path) =>
    repository ? `[${text}](${target(path)})` : text,
  ),
)

function fail(message) {
  console.error(message)
  process.exit(1)
}
