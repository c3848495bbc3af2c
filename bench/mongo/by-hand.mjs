import { createAttemptId } from '@svc/db'
import { Long } from 'mongodb'
import { bucket } from '../servers/scopes.mjs'

/** Creates the collection that most applications use. */
export async function openByHand(db) {
  const files = db.collection('files_by_hand', { writeConcern: { w: 'majority' } })
  await files.createIndexes([{ key: { scope: 1 } }])
  return {
    /** Runs the usual sequence without a transaction: find the key, sum up the scope, insert or update. */
    async reserve({ scope, size, maxBytes }) {
      const key = `uploads/${createAttemptId()}`
      const _id = `${bucket}/${key}`
      const found = await files.findOne({ _id })
      if (found && found.scope !== scope) return false
      if ((await bytes(scope)) + size > maxBytes) return false
      const document = {
        ...{ scope, bucket, key, status: 'pending', size: Long.fromNumber(size), createdAt: new Date() },
        ...{ filename: 'holiday picture.jpg', contentType: 'image/jpeg' },
      }
      if (found) await files.updateOne({ _id }, { $set: document })
      else await files.insertOne({ _id, ...document })
      return true
    },
    bytes,
  }

  async function bytes(scope) {
    const pipeline = [{ $match: { scope } }, { $group: { _id: null, bytes: { $sum: '$size' } } }]
    const [sum] = await files.aggregate(pipeline).toArray()
    return sum?.bytes ?? 0
  }
}
