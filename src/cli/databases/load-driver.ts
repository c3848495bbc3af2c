import { WrongCall } from '../wrong-call.js'

/** Loads the driver of a database, which is an application's to install. @throws WrongCall where it isn't. */
export async function loadDriver<Driver>(name: string, load: () => Promise<Driver>): Promise<Driver> {
  try {
    return await load()
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`'${name}'`)
    if (!isMissing) throw error
    throw new WrongCall(
      `This database needs the package "${name}", which is not installed beside @svc/db.`,
      `Install it where @svc/db is: npm install ${name}`,
    )
  }
}
