import { openDatabase } from './database.js'
import { claimAndSettle } from './delivery-load.js'
import { openLog } from './event-log.js'
import { clockOf, logOf, type EventReport, type EventTask } from './event-task.js'
import { writeObjects } from './object-load.js'
import { serveAsWorker } from './worker.js'

const report: EventReport = { successes: 0 }

serveAsWorker<EventTask, EventReport>(report, async (task, report, { finish, dieIfOrdered }) => {
  const { writers, claimers } = task
  const { open, close } = openDatabase(task.connection, writers + claimers)
  const log = openLog(logOf(task))
  const clock = clockOf(task)
  const shared = { log, clock, isOver: () => finish.aborted }
  const store = open(() => new Date(clock()))
  const onSuccess = () => void report.successes++
  const onClaim = () => dieIfOrdered('with claims')
  await Promise.all([
    ...Array.from({ length: writers }, () => writeObjects({ ...shared, store, onSuccess })),
    ...Array.from({ length: claimers }, () => claimAndSettle({ ...shared, open, onClaim })),
  ])
  await close()
  log.close()
})
