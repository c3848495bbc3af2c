import { it } from 'vitest'
import { importLargeBucket, importTwice, stopAnywhere } from './interrupted-imports.js'

it('importObjects records everything once if it is stopped anywhere and goes on', () => stopAnywhere(2000))

it('importObjects records each item once if two run at once', () => importTwice(200))

it('importObjects holds two pages of a bucket of a million objects at most', () =>
  importLargeBucket(1_000_000, false))
