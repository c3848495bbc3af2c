// A queue of uploads on a page without a framework.
import { createS3Client } from '@svc/db/client'
import { createUploadQueue } from '@svc/db/uploads'

const { api } = createS3Client({ plugins: [] })
const queue = createUploadQueue(api)

const page = document.querySelector('#page')!
page.innerHTML = `
  <label>Choose files <input type="file" multiple /></label>
  <button>Pause all</button> <button>Resume all</button>
  <p role="status"></p>
  <ul></ul>`
const input = page.querySelector('input')!
const [pause, resume] = page.querySelectorAll('button')
input.addEventListener('change', () => queue.add(input.files!))
pause!.addEventListener('click', () => queue.pause())
resume!.addEventListener('click', () => queue.resume())

function render(): void {
  const { items, loaded, size } = queue.getSnapshot()
  page.querySelector('p')!.textContent = `${loaded} of ${size} bytes`
  const rows = items.map(({ filename, state, error }) => {
    const row = document.createElement('li')
    row.textContent = `${filename}: ${error?.message ?? state}`
    return row
  })
  page.querySelector('ul')!.replaceChildren(...rows)
}
queue.subscribe(render)
render()
