import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'
import { describePostgres } from '../postgres/schemas.js'
import { buildCommand } from './command.js'
import { seededSchema } from './seeded-schema.js'

const CTRL_C = '\u0003'
const QUESTION = '[y/N]'
const ROWS = 450

const isLinux = process.platform === 'linux'

describePostgres('on a terminal', (url) => {
  // Runs the command on a terminal with `script` of util-linux. Other systems' `script` takes other options.
  const describeTerminal = isLinux ? describe : describe.skip
  describeTerminal(isLinux ? 'the command' : 'the command (needs script of util-linux)', () => {
    const command = buildCommand()
    const seeded = seededSchema(url)
    beforeAll(async () => {
      await seeded.addExpired('user:ann', ROWS)
    })

    /** Types a reply to the question. Resolves to what the terminal showed. */
    async function replying(reply: string, args = 'purge-expired') {
      const child = spawn('script', ['-qec', `"$NODE" "$COMMAND" ${args} --schema "$SCHEMA"`, '/dev/null'], {
        env: {
          PATH: process.env['PATH'] ?? '',
          SHELL: '/bin/sh',
          NODE: process.execPath,
          COMMAND: command.file,
          SCHEMA: seeded.schema,
          DATABASE_URL: url,
        },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      let isAsked = false
      let seen = ''
      child.stdout.on('data', (chunk: Buffer) => {
        seen += chunk.toString()
        if (isAsked || !seen.includes(QUESTION)) return
        isAsked = true
        child.stdin.write(reply)
      })
      const exit = new Promise((resolve) => child.once('close', resolve))
      const shown = await text(child.stdout)
      return { exitCode: await exit, shown, left: await seeded.store.countByScope('user:ann') }
    }

    it.each(['n\n', '\n', 'yup\n', '\u0004'])('purges nothing for the reply %j', async (reply) => {
      const { exitCode, shown, left } = await replying(reply)
      expect(shown).toContain('Nothing was purged.')
      expect({ exitCode, left }).toEqual({ exitCode: 0, left: ROWS })
    })

    it.each(['n\n', '\n'])(
      'erase says what would be deleted, and erases nothing for the reply %j',
      async (reply) => {
        const { exitCode, shown, left } = await replying(reply, 'erase user:ann')
        expect(shown).toContain(`Erase user:ann from ${url} (schema ${seeded.schema})?`)
        expect(shown).toContain(
          "0 objects (0 bytes), 450 uploads and 0 rows of history will be deleted, with all their bytes. This can't be undone.",
        )
        expect(shown).toContain('Nothing was erased.')
        expect({ exitCode, left }).toEqual({ exitCode: 0, left: ROWS })
      },
    )

    it('erase --scope-prefix names the number of scopes, the first and the last', async () => {
      await seeded.addActive('user:bob', 'bob', 5)
      await seeded.addActive('user;cleo', 'cleo', 5)
      const { exitCode, shown, left } = await replying('n\n', 'erase --scope-prefix user:')
      expect(shown.replaceAll('\r\n', '\n')).toContain(
        `Erase 2 scopes with the prefix user: from ${url} (schema ${seeded.schema})?
The first is user:ann, the last is user:bob.
1 object (5 bytes), 450 uploads and 0 rows of history will be deleted, with all their bytes. This can't be undone.`,
      )
      expect(shown).toContain('Nothing was erased.')
      expect({ exitCode, left }).toEqual({ exitCode: 0, left: ROWS })
    })

    it('purges nothing on Ctrl+C', async () => {
      const { exitCode, left } = await replying(CTRL_C)
      expect({ exitCode, left }).toEqual({ exitCode: 130, left: ROWS })
    })

    it('purges after confirmation, and shows a progress bar', async () => {
      const { exitCode, shown, left } = await replying('y\n')
      expect(shown).toContain(
        `Purge 450 expired reservations (439 KiB declared) from ${url} (schema ${seeded.schema})?`,
      )
      expect(shown).toContain('[###########.............] 44 %, 200 of 450')
      expect(shown).toContain('[########################] 100 %, 450 of 450')
      expect(shown).toContain('Purged 450 expired reservations.')
      expect({ exitCode, left }).toEqual({ exitCode: 0, left: 0 })
    })
  })
})
