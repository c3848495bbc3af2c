const COLLECTIONS = ['objects', 'history']

/** Bytes on the disk of each collection and index, compressed as the server does by default, and their entries. */
export async function measureSizes(db) {
  // What lies in the cache has no size on the disk yet.
  await db.admin().command({ fsync: 1 })
  const sizes = []
  for (const name of COLLECTIONS) {
    const collection = db.collection(`svc_db_${name}`)
    const [{ storageStats }] = await collection.aggregate([{ $collStats: { storageStats: {} } }]).toArray()
    sizes.push(sizeOf(name, storageStats.count, storageStats.storageSize))
    for (const { name: index, key, partialFilterExpression } of await collection.listIndexes().toArray()) {
      // As many as a walk along the index meets.
      const walk = partialFilterExpression ?? { [Object.keys(key)[0]]: { $exists: true } }
      const entries = index === '_id_' ? storageStats.count : await collection.countDocuments(walk)
      if (entries > 0) sizes.push(sizeOf(`${name}, ${index}`, entries, storageStats.indexSizes[index]))
    }
  }
  return sizes
}

function sizeOf(name, entries, bytes) {
  return { name, entries, megabytes: bytes / 1e6, bytesPerEntry: bytes / entries }
}
