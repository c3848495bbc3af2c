// Runs the conformance suite under node:test. Arguments: the driver, the URL of its server, and the number of runs.
import { after, describe, it } from 'node:test'
import { storeConformance } from '@svc/db/conformance'
import { openDriver } from './drivers.mjs'

const [name, url, numRuns] = process.argv.slice(2)
const { createStore, end } = await openDriver(name, url)
storeConformance({ name, createStore, test: { describe, it }, numRuns: Number(numRuns), seed: 20260101 })
after(end)
