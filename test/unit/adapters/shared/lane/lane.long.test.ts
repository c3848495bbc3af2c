import { it } from 'vitest'
import { checkRandomJobs } from './random-jobs.js'

it('settles each of many random jobs, in the order of its key and its scopes', () => checkRandomJobs(5000))
