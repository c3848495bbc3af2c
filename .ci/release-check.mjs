// Checks that a tag can be released: it names the version of package.json, CHANGELOG.md has that version with a date and has nothing
// left under "Unreleased", and the repository is known, which the provenance of the package names. Prints each fault.
// Usage: node .ci/release-check.mjs TAG. Exits with 1 if there is a fault.
import { readFileSync } from 'node:fs'
import { repositoryUrl } from './repository.mjs'

const [tag = ''] = process.argv.slice(2)
const read = (file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const { version } = JSON.parse(read('package.json'))
const headings = [...read('CHANGELOG.md').matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)

const faults = [
  tag !== `v${version}` && `The tag must be v${version}, as in package.json (got ${tag || 'none'}).`,
  headings[0] === 'Unreleased' &&
    'CHANGELOG.md has a section "Unreleased": rename it to the version, with the date.',
  !headings.some((heading) => /^\d{4}-\d{2}-\d{2}$/.test(heading.split(`${version} - `)[1] ?? '')) &&
    `CHANGELOG.md has no section "## ${version} - DATE".`,
  repositoryUrl() === null &&
    'Neither `repository` in package.json nor GITHUB_REPOSITORY names the repository.',
].filter(Boolean)
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
