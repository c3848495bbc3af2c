import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll } from 'vitest'
import { temporaryFolder } from './packed-package.js'
import { repository } from './programs.js'
import { createApplications, describeTypes, TYPESCRIPT_6 } from './types-of-entries.js'

const workspace = temporaryFolder()
const withPeers = join(workspace, 'with-peers')
const withoutPeers = join(workspace, 'without-peers')
const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  readonly peerDependencies: Record<string, string>
}

beforeAll(async () => {
  await createApplications(withPeers, withoutPeers, Object.keys(manifest.peerDependencies))
})

describeTypes(withPeers, withoutPeers, TYPESCRIPT_6)
