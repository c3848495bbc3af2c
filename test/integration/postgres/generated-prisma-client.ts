import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgramWith } from '../../package/programs.js'

const SCHEMA = `
generator client {
  provider = "prisma-client"
  output   = "./generated"
  moduleFormat = "cjs"
}
datasource db {
  provider = "postgresql"
}
model Note {
  id    String     @id @default(uuid())
  owner String
  body  String
  files NoteFile[]
}
model NoteFile {
  objectId String @id @db.Uuid
  note     Note   @relation(fields: [noteId], references: [id])
  noteId   String
}
`

/** The tables of the schema. */
export const NOTE_TABLES = `
  CREATE TABLE "Note" (id text PRIMARY KEY, owner text NOT NULL, body text NOT NULL);
  CREATE TABLE "NoteFile" ("objectId" uuid PRIMARY KEY, "noteId" text NOT NULL REFERENCES "Note")`

/** Lets the command of an environment generate a client. `file` is the module that exports `PrismaClient`. */
export async function generatePrismaClient(environment: string) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-prisma-'))
  symlinkSync(join(environment, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'schema.prisma'), SCHEMA)
  // The command downloads a program for migrations unless this names one. Generating a client doesn't run it.
  const variables = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
  const command = [
    join(environment, 'node_modules/prisma/build/index.js'),
    'generate',
    '--schema=schema.prisma',
  ]
  const { exitCode, output } = await runProgramWith(variables, folder, process.execPath, ...command)
  if (exitCode !== 0) throw new Error(`prisma generate failed:\n${output}`)
  return {
    file: join(folder, 'generated', 'client.ts'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
