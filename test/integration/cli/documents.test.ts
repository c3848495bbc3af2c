import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'
import { removeBucket } from '../../servers/s3-buckets.js'
import { describePostgres, poolOf } from '../postgres/schemas.js'
import { readDocuments } from '../readme/documents.js'
import { clientOf, describeS3, type S3Server } from '../s3/s3-server.js'
import { buildCommand } from './command.js'
import { fillDocumentedDatabase } from './documented-database.js'

const PROMPT = '$ '

/** The bucket of the page, and what is in it. */
const BUCKET = 'old-files'
const FILES = [
  ['logs/today', '8 bytes.'],
  ['users/42/holiday.jpg', 'pixels.'],
  ['users/7/a.txt', 'hello.'],
] as const

interface Example {
  readonly command: string
  readonly printed: string
}

const { blocks } = readDocuments().find(({ path }) => path === 'docs/cli.md')!

/** Returns the examples in order: a command after each prompt, and the output up to the next prompt. */
function examplesOfPage(): Example[] {
  return blocks
    .filter(({ language, code }) => language === 'text' && code.startsWith(PROMPT))
    .flatMap(({ code }) => code.split(/^\$ /m).slice(1))
    .map((example) => {
      const [command = '', ...lines] = example.split('\n')
      return { command, printed: lines.join('\n').trimEnd() }
    })
}

/** Returns the code of a module that the page shows. */
function moduleOf(name: string): string {
  return blocks.find(({ code }) => code.startsWith(`// ${name}\n`))!.code
}

describePostgres('docs/cli.md', (url) => {
  describeS3('with a bucket', (server) => documentedCommands(url, server))
})

function documentedCommands(url: string, server: S3Server): void {
  const examples = examplesOfPage()
  const client = clientOf(server)
  const pool = poolOf(url)
  const database = `svc_db_docs_${randomBytes(6).toString('hex')}`
  const target = new URL(url)
  target.pathname = `/${database}`
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-docs-'))
  const command = buildCommand()
  beforeAll(async () => {
    const program = join(folder, 'bin', 'svc-db')
    mkdirSync(join(folder, 'bin'))
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${command.file}" "$@"\n`)
    chmodSync(program, 0o755)
    writeFileSync(join(folder, 'owners.mjs'), moduleOf('owners.mjs'))
    await pool.query(`CREATE DATABASE ${database}`)
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }))
    for (const [Key, Body] of FILES) await client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body }))
  })
  afterAll(async () => {
    await removeBucket(client, BUCKET)
    rmSync(folder, { recursive: true, force: true })
    await pool.query(`DROP DATABASE ${database}`)
    await pool.end()
  })

  /** Runs a line in a shell. Resolves to both output streams, as a terminal shows them. */
  function shell(line: string): Promise<string> {
    const env = {
      PATH: [join(folder, 'bin'), process.env['PATH']].join(delimiter),
      DATABASE_URL: target.href,
      AWS_ENDPOINT_URL: server.endpoint,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: server.owner.accessKeyId,
      AWS_SECRET_ACCESS_KEY: server.owner.secretAccessKey,
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    }
    return new Promise((resolve) => {
      execFile('sh', ['-c', `{ ${line}\n} 2>&1`], { env, cwd: folder }, (_, printed) =>
        resolve(printed.trimEnd()),
      )
    })
  }

  it('documents every command, starting with migrate', () => {
    const shown = examples.map(({ command: line }) => /^svc-db ([\w-]+)/.exec(line)?.[1])
    const commands = [
      'migrate',
      'verify',
      'doctor',
      'schema',
      'usage',
      'list',
      'scopes',
      'update',
      'transfer',
      'events',
      'check-usage',
      'repair-usage',
      'purge-expired',
      'arrived',
    ]
    const ofBuckets = ['import', 'check-storage', 'transfer-scope', 'end-uploads', 'erase', 'clean-up']
    expect([...new Set(shown)]).toEqual([...commands, 'leftovers', 'purge-deleted', ...ofBuckets])
  })

  it('documents the actual output', async () => {
    const run = async ({ command: line }: Example) => ({ command: line, printed: await shell(line) })
    const [first, ...others] = examples
    const printed = [await run(first!)]
    await fillDatabase()
    // Commands that only read run together, because each is a process that takes a while to start.
    const reading: Promise<Example>[] = []
    for (const example of others) {
      const changes =
        /^svc-db (?:migrate|repair-usage|update|transfer|purge-|arrived --reject|import|end-uploads|erase|clean-up)/.test(
          example.command,
        )
      if (changes) printed.push(...(await Promise.all(reading.splice(0))))
      if (changes) printed.push(await run(example))
      else reading.push(run(example))
    }
    printed.push(...(await Promise.all(reading)))
    expect(printed).toEqual(examples)
  })

  async function fillDatabase(): Promise<void> {
    const inside = poolOf(target.href)
    await fillDocumentedDatabase((now) => postgresAdapter(inside, { now: () => now }))
    await inside.query(`UPDATE svc_db.scope_usage SET bytes = bytes + 4096 WHERE scope = 'user:bob'`)
    await inside.end()
  }
}
