import { it } from 'vitest'
import { checkBesideWriters } from './beside-writers.js'

it('iterateByScope yields a row that stays once, and no row twice, beside many writers', () =>
  checkBesideWriters(200))
