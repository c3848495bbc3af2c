// Jest before 28 gives tests none of the globals that Node has gained since version 12. This environment adds them. An
// application requires `jest-environment-node`: two versions of jest are installed here.
const NodeEnvironment = require('jest-environment-node26')

module.exports = class extends NodeEnvironment {
  constructor(...args) {
    super(...args)
    for (const name of Object.getOwnPropertyNames(globalThis)) {
      if (!(name in this.global)) this.global[name] = globalThis[name]
    }
  }
}
