import { memoryAdapter } from '@svc/db/memory'
import { it } from 'vitest'
import { checkRaces } from './races.js'

it('checked uploads, verdicts and jobs at once show and lose nothing', async () => {
  await checkRaces(8, async ({ now }) => memoryAdapter({ now, events: true }))
})
