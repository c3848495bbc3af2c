import { runRaceWorker } from '@svc/db/conformance'
import { sqliteAdapter } from '@svc/db/sqlite'
import Database from 'better-sqlite3'

// A broken store: its `keep` writes each object in a separate transaction, and the process dies after the first one.
runRaceWorker((path) => {
  const store = sqliteAdapter(new Database(path))
  return {
    ...store,
    async keep({ scope, objects: [first] }) {
      await store.keep({ scope, objects: [first!] })
      process.kill(process.pid, 'SIGKILL')
      return []
    },
  }
})
