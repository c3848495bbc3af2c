import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from 'generated-prisma-client'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { dyingAfter, formServer, requestOf, type FormAfterCommit } from '../forms/form-server.js'

/** Saves a note with Prisma, keeps its file, and kills itself after one of the steps. */
async function save({ url, namespace, scope, id, diesAfter }: FormAfterCommit): Promise<void> {
  const between = dyingAfter(diesAfter)
  const pool = new pg.Pool({ connectionString: url })
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { schema: namespace }) })
  const s3 = formServer(postgresAdapter(pool, { schema: namespace }), async (ids) => {
    const used = await prisma.noteFile.findMany({ where: { objectId: { in: ids } } })
    return used.map(({ objectId }) => objectId)
  })
  between('begun')
  await prisma.note.create({ data: { owner: scope, body: 'the sea', files: { create: [{ objectId: id }] } } })
  between('saved')
  await s3.db.keep(requestOf(scope), { ids: [id] })
  between('kept')
}

void save(JSON.parse(process.argv[2]!) as FormAfterCommit)
