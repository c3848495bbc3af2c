import { runRaceWorker } from '@svc/db/conformance'
import { sqliteAdapter } from '@svc/db/sqlite'
import Database from 'better-sqlite3'

// A broken store: `keep` changes one object after the other, each in a transaction of its own. The process dies after the first.
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
