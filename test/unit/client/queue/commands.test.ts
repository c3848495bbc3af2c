import { it } from 'vitest'
import { checkRandomCommands } from './random-commands.js'

it('whatever is called and whenever, each file becomes what the last call wanted', () =>
  checkRandomCommands(30))
