import { it } from 'vitest'
import { checkRandomCommands } from './random-commands.js'

it('whatever is called and whenever, each of many files becomes what the last call wanted', () =>
  checkRandomCommands(1000))
