import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { describePostgres, poolOf } from '../postgres/schemas.js'
import { buildCommand, type BuiltCommand } from './command.js'
import { seededSchema, type SeededSchema } from './seeded-schema.js'

const CTRL_C = '\u0003'
const QUESTION = '[y/N]'
const ROWS = 450

const isLinux = process.platform === 'linux'

describePostgres('on a terminal', (url) => {
  // `script` of util-linux gives the command a terminal; other systems' know other options.
  const describeTerminal = isLinux ? describe : describe.skip
  describeTerminal(isLinux ? 'purge-expired' : 'purge-expired (its terminal is made as on Linux)', () => {
    const pool = poolOf(url)
    let command: BuiltCommand
    let place: SeededSchema
    beforeAll(async () => {
      command = await buildCommand()
    })
    beforeEach(async () => {
      place = await seededSchema(pool)
      await place.addLapsed('user:ann', ROWS)
    })
    afterEach(() => place.drop())
    afterAll(async () => {
      command.remove()
      await pool.end()
    })

    /** Types an answer when it is asked; resolves to what the terminal showed. */
    async function answering(answer: string) {
      const child = spawn(
        'script',
        ['-qec', '"$NODE" "$COMMAND" purge-expired --schema "$PLACE"', '/dev/null'],
        {
          env: {
            PATH: process.env['PATH'] ?? '',
            SHELL: '/bin/sh',
            NODE: process.execPath,
            COMMAND: command.file,
            PLACE: place.schema,
            DATABASE_URL: url,
          },
          stdio: ['pipe', 'pipe', 'inherit'],
        },
      )
      let isAsked = false
      let seen = ''
      child.stdout.on('data', (chunk: Buffer) => {
        seen += chunk.toString()
        if (isAsked || !seen.includes(QUESTION)) return
        isAsked = true
        child.stdin.write(answer)
      })
      const exit = new Promise((resolve) => child.once('close', resolve))
      const shown = await text(child.stdout)
      return { exitCode: await exit, shown, left: await place.store.countByScope('user:ann') }
    }

    it('asks, and drops what it was allowed to, with a bar for who looks on', async () => {
      const { exitCode, shown, left } = await answering('y\n')
      expect(shown).toContain(
        `Drop 450 lapsed reservations (439 KiB announced) from ${url} (schema ${place.schema})?`,
      )
      expect(shown).toContain('[###########.............] 44 %, 200 of 450')
      expect(shown).toContain('[########################] 100 %, 450 of 450')
      expect(shown).toContain('Dropped 450 lapsed reservations.')
      expect({ exitCode, left }).toEqual({ exitCode: 0, left: 0 })
    })

    it.each(['n\n', '\n', 'yup\n', '\u0004'])('drops nothing for the answer %j', async (answer) => {
      const { exitCode, shown, left } = await answering(answer)
      expect(shown).toContain('Nothing was dropped.')
      expect({ exitCode, left }).toEqual({ exitCode: 0, left: ROWS })
    })

    it('drops nothing where ctrl-C is the answer', async () => {
      const { exitCode, left } = await answering(CTRL_C)
      expect({ exitCode, left }).toEqual({ exitCode: 130, left: ROWS })
    })
  })
})
