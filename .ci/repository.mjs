// Where this package's repository is on the web, from `repository` in package.json or from GITHUB_REPOSITORY (`owner/name`).
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/**
 * Returns the address of the repository, without a slash at its end, or `null` if neither of the two names one.
 * @param {{ repository?: string | { url: string } }} [from]
 * @param {NodeJS.ProcessEnv} [environment]
 */
export function repositoryUrl({ repository } = manifest, environment = process.env) {
  const named = typeof repository === 'object' ? repository.url : repository
  const server = environment.GITHUB_SERVER_URL || 'https://github.com'
  if (named) {
    const short = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(named)?.[1]
    if (short) return `${server}/${short}`
    const url = /^(?:git\+)?(?:https?|ssh):\/\/(?:[^@/]+@)?(.+?)(?:\.git)?\/?$/.exec(named)?.[1]
    if (url) return `https://${url}`
    throw new Error(`\`repository\` in package.json must be owner/name or a URL (got ${named}).`)
  }
  return environment.GITHUB_REPOSITORY ? `${server}/${environment.GITHUB_REPOSITORY}` : null
}
