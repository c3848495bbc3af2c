import mongoose from 'mongoose'
import { mongoAdapter } from '@svc/db/mongo'
import { dyingAfter, formServer, requestOf, type FormAfterCommit } from '../forms/form-server.js'

/** Saves a form by mongoose, keeps its file, and kills itself after one of the steps. */
async function save({ url, namespace, scope, id, diesAfter }: FormAfterCommit): Promise<void> {
  const between = dyingAfter(diesAfter)
  const Form = mongoose.model('Form', new mongoose.Schema({ owner: String, files: [String] }))
  await mongoose.connect(url, { dbName: namespace })
  const s3 = formServer(
    mongoAdapter(() => mongoose.connection.db),
    async (ids) => (await Form.find({ files: { $in: ids } })).flatMap(({ files }) => files),
  )
  between('begun')
  await Form.create({ owner: scope, files: [id] })
  between('saved')
  await s3.db.keep(requestOf(scope), { ids: [id] })
  between('kept')
}

void save(JSON.parse(process.argv[2]!) as FormAfterCommit)
