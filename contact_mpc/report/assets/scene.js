// Plays recorded body poses as shapes in WebGL 2. No library, nothing is loaded from anywhere.
// Scene data: see contact_mpc/report/scene/animation.py. Lengths in m, quaternions wxyz, world frame W with z up.
"use strict";

const SceneMath = {
  multiply(a, b) {  // column-major 4 x 4
    const out = new Float32Array(16);
    for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
      out[4 * c + r] = sum;
    }
    return out;
  },
  pose(p, q) {
    const [w, x, y, z] = q;
    return new Float32Array([
      1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
      2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
      2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0,
      p[0], p[1], p[2], 1]);
  },
  perspective(fovy, aspect, near, far) {
    const f = 1 / Math.tan(fovy / 2);
    return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1,
      0, 0, 2 * far * near / (near - far), 0]);
  },
  lookAt(eye, target) {
    const unit = v => { const n = Math.hypot(...v); return v.map(x => x / n); };
    const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const back = unit([0, 1, 2].map(i => eye[i] - target[i]));
    const right = unit(cross([0, 0, 1], back)), up = cross(back, right);
    return new Float32Array([right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
      -dot(right, eye), -dot(up, eye), -dot(back, eye), 1]);
  },
};

// A surface of revolution about z from a profile of [radius, z, normal radius, normal z] points.
function revolve(profile, slices = 40) {
  const vertices = [], indices = [];
  profile.forEach(([r, z, nr, nz]) => {
    for (let s = 0; s <= slices; s++) {
      const a = 2 * Math.PI * s / slices, c = Math.cos(a), d = Math.sin(a);
      vertices.push(r * c, r * d, z, nr * c, nr * d, nz);
    }
  });
  for (let i = 0; i + 1 < profile.length; i++) for (let s = 0; s < slices; s++) {
    const k = i * (slices + 1) + s;
    indices.push(k, k + 1, k + slices + 1, k + 1, k + slices + 2, k + slices + 1);
  }
  return { vertices, indices };
}

function capProfile(radius, half, steps = 12) {  // a half circle whose upper half is lifted, whose lower is lowered
  const points = [];
  for (let i = 0; i <= 2 * steps; i++) {
    const a = Math.PI * i / (2 * steps) - Math.PI / 2, up = i < steps ? -half : half;
    if (i === steps && half > 0) points.push([radius, -half, 1, 0]);
    points.push([radius * Math.cos(a), radius * Math.sin(a) + up, Math.cos(a), Math.sin(a)]);
  }
  return points;
}

const Meshes = {
  sphere: ([r]) => revolve(capProfile(r, 0)),
  capsule: ([r, length]) => revolve(capProfile(r, length / 2)),
  cylinder([r, length]) {
    const h = length / 2;
    return revolve([[0, -h, 0, -1], [r, -h, 0, -1], [r, -h, 1, 0], [r, h, 1, 0], [r, h, 0, 1], [0, h, 0, 1]]);
  },
  box([x, y, z]) {
    const vertices = [], indices = [], half = [x / 2, y / 2, z / 2];
    for (let axis = 0; axis < 3; axis++) for (const side of [-1, 1]) {
      const first = vertices.length / 6, u = (axis + 1) % 3, v = (axis + 2) % 3;
      for (const [a, b] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
        const p = [0, 0, 0], n = [0, 0, 0];
        p[axis] = side * half[axis]; p[u] = a * half[u]; p[v] = b * half[v]; n[axis] = side;
        vertices.push(...p, ...n);
      }
      indices.push(first, first + 1, first + 2, first, first + 2, first + 3);
    }
    return { vertices, indices };
  },
};

Meshes.triangles = packed => {  // base64 of 32-bit floats, three corners of three coordinates per triangle
  const corners = Array.from(new Float32Array(Uint8Array.from(atob(packed), c => c.charCodeAt(0)).buffer));
  const vertices = [], at = i => corners.slice(i, i + 3);
  for (let i = 0; i < corners.length; i += 9) {
    const [a, b, c] = [at(i), at(i + 3), at(i + 6)], [u, v] = [b, c].map(p => p.map((x, k) => x - a[k]));
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const length = Math.hypot(...n) || 1;
    for (const p of [a, b, c]) vertices.push(...p, ...n.map(x => x / length));
  }
  return { vertices, indices: Array.from({ length: vertices.length / 6 }, (_, i) => i) };
};

const VERTEX_SHADER = `#version 300 es
layout(location = 0) in vec3 position; layout(location = 1) in vec3 normal;
uniform mat4 view, model, body; uniform vec3 shadow;  // shadow: light direction in xy, floor height; z = 1e9: none
out vec3 vNormal, vWorld, vBody;
void main() {
  vec4 inBody = body * vec4(position, 1.0);
  vec4 world = model * inBody;
  if (shadow.z < 1e8) world.xyz = vec3(world.xy - shadow.xy * (world.z - shadow.z), shadow.z);
  vNormal = mat3(model) * mat3(body) * normal; vWorld = world.xyz; vBody = inBody.xyz;
  gl_Position = view * world;
}`;

const FRAGMENT_SHADER = `#version 300 es
precision highp float;
in vec3 vNormal, vWorld, vBody; out vec4 outColor;
uniform vec4 color; uniform vec3 eye; uniform int style;  // 0 lit, 1 lit with octants, 2 flat, 3 floor grid
uniform float grid; uniform vec3 target;
void main() {
  if (style == 2) { outColor = color; return; }
  if (style == 3) {
    vec2 cell = vWorld.xy / grid, line = abs(fract(cell - 0.5) - 0.5) / fwidth(cell);
    float fade = 1.0 - smoothstep(6.0, 16.0, length(vWorld.xy - target.xy) / grid);
    outColor = vec4(color.rgb, color.a * fade * (1.0 - min(min(line.x, line.y), 1.0)));
    return;
  }
  vec3 base = color.rgb;
  if (style == 1) {
    vec3 side = clamp(vBody / max(fwidth(vBody), vec3(1e-7)), -1.0, 1.0);
    base = mix(base, vec3(0.97, 0.95, 0.90), 0.5 - 0.5 * side.x * side.y * side.z);
  }
  vec3 n = normalize(vNormal), toEye = normalize(eye - vWorld);
  if (dot(n, toEye) < 0.0) n = -n;
  vec3 key = normalize(vec3(0.45, -0.35, 0.85)), fill = normalize(vec3(-0.6, 0.7, 0.25));
  float light = 0.52 + 0.16 * n.z + 0.46 * max(dot(n, key), 0.0) + 0.2 * max(dot(n, fill), 0.0);
  float shine = 0.14 * pow(max(dot(n, normalize(key + toEye)), 0.0), 40.0);
  outColor = vec4(base * light + shine, color.a);
}`;

class Scene {
  constructor(canvas, data) {
    this.canvas = canvas;
    this.data = data;
    this.frames = new Float32Array(Uint8Array.from(atob(data.frames), c => c.charCodeAt(0)).buffer);
    this.time = data.times[0];
    this.isPlaying = true;
    this.speed = 1;
    this.drawn = 0;
    this.camera = { ...data.camera };
    this.gl = canvas.getContext("webgl2", { antialias: true, alpha: true, stencil: true });
    if (!this.gl) throw new Error("this browser offers no WebGL 2");
    this.program = this.compile();
    this.uniforms = Object.fromEntries(["view", "model", "body", "shadow", "color", "eye", "style", "grid", "target"]
      .map(name => [name, this.gl.getUniformLocation(this.program, name)]));
    this.meshes = new Map();
    this.listen();
  }

  compile() {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX_SHADER], [gl.FRAGMENT_SHADER, FRAGMENT_SHADER]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    return program;
  }

  mesh(kind, size) {
    const key = kind + size;
    if (!this.meshes.has(key)) {
      const gl = this.gl, { vertices, indices } = Meshes[kind](size), array = gl.createVertexArray();
      gl.bindVertexArray(array);
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(vertices), gl.STATIC_DRAW);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(indices), gl.STATIC_DRAW);
      for (const i of [0, 1]) { gl.enableVertexAttribArray(i); gl.vertexAttribPointer(i, 3, gl.FLOAT, false, 24, 12 * i); }
      this.meshes.set(key, { array, count: indices.length });
    }
    return this.meshes.get(key);
  }

  // Poses of all bodies at this.time: positions linear, quaternions linear and normalised between frames.
  bodyPoses() {
    const times = this.data.times, n = this.data.bodies.length, later = times.findIndex(t => t > this.time);
    const k = later < 0 ? times.length - 2 : Math.max(0, later - 1);
    const part = Math.min(1, Math.max(0, (this.time - times[k]) / (times[k + 1] - times[k])));
    return this.data.bodies.map((_, index) => {
      const a = this.frames.subarray(7 * (k * n + index)), b = this.frames.subarray(7 * ((k + 1) * n + index));
      const sign = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
      const mix = Array.from({ length: 7 }, (_, i) => a[i] * (1 - part) + (i < 3 ? 1 : sign) * b[i] * part);
      const norm = Math.hypot(...mix.slice(3));
      return SceneMath.pose(mix.slice(0, 3), mix.slice(3).map(x => x / norm));
    });
  }

  drawShape(shape, model, color, style) {
    const gl = this.gl, mesh = this.mesh(shape.kind, shape.size);
    gl.uniformMatrix4fv(this.uniforms.model, false, model);
    gl.uniformMatrix4fv(this.uniforms.body, false, SceneMath.pose(shape.p, shape.q));
    gl.uniform4fv(this.uniforms.color, color);
    gl.uniform1i(this.uniforms.style, style);
    gl.bindVertexArray(mesh.array);
    gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
  }

  draw() {
    const gl = this.gl, { azimuth, elevation, distance, target } = this.camera, data = this.data;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, this.canvas.clientWidth * scale);
    this.canvas.height = Math.max(1, this.canvas.clientHeight * scale);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(this.program);
    const flat = Math.cos(elevation);
    const eye = [target[0] + distance * flat * Math.cos(azimuth), target[1] + distance * flat * Math.sin(azimuth),
      target[2] + distance * Math.sin(elevation)];
    const lens = SceneMath.perspective(0.6, this.canvas.width / this.canvas.height, distance / 50, distance * 20);
    gl.uniformMatrix4fv(this.uniforms.view, false, SceneMath.multiply(lens, SceneMath.lookAt(eye, target)));
    gl.uniform3fv(this.uniforms.eye, eye);
    gl.uniform3fv(this.uniforms.target, target);
    const poses = this.bodyPoses();
    this.drawFloor(poses);
    gl.uniform3f(this.uniforms.shadow, 0, 0, 1e9);
    data.bodies.forEach((body, i) => body.shapes.forEach(shape =>
      this.drawShape(shape, poses[i], [...(shape.color || body.color), 1], body.is_object && !shape.color ? 1 : 0)));
    const isBehind = marker => marker.free && marker.free.reduce((sum, n, i) => sum + n * (eye[i] - marker.p[i]), 0) < 0;
    data.markers.filter(marker => !isBehind(marker)).forEach(marker => {
      const model = marker.body === null ? SceneMath.pose(marker.p, marker.q) : poses[marker.body];
      gl.depthMask(marker.color[3] >= 1);
      marker.shapes.forEach(shape => this.drawShape(shape, model, marker.color, 0));
      gl.depthMask(true);
    });
    if (this.drawn === 0 && gl.getError() !== gl.NO_ERROR) throw new Error("WebGL refused to draw the scene");
    this.drawn += 1;
  }

  drawFloor(poses) {
    const gl = this.gl, { floor_z: z, grid } = this.data, size = 60 * grid;
    gl.depthMask(false);
    gl.uniform3f(this.uniforms.shadow, 0, 0, 1e9);
    gl.uniform1f(this.uniforms.grid, grid);
    const plane = { kind: "box", size: [size, size, 1e-5], p: [0, 0, z], q: [1, 0, 0, 0] };
    this.drawShape(plane, SceneMath.pose([0, 0, 0], [1, 0, 0, 0]), [0.45, 0.5, 0.56, 0.45], 3);
    gl.uniform3f(this.uniforms.shadow, 0.25, -0.2, z);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    this.data.bodies.forEach((body, i) => body.shapes.forEach(shape =>
      this.drawShape(shape, poses[i], [0.1, 0.12, 0.16, 0.16], 2)));
    gl.disable(gl.STENCIL_TEST);
    gl.depthMask(true);
  }

  seek(time) {
    const times = this.data.times;
    this.time = Math.min(Math.max(time, times[0]), times[times.length - 1]);
  }

  // Start again once the end was shown for a second.
  advance(seconds) {
    if (!this.isPlaying) return;
    const times = this.data.times;
    this.time += seconds * this.speed;
    if (this.time > times[times.length - 1] + 1) this.time = times[0];
  }

  listen() {
    const canvas = this.canvas, pointer = { down: false, x: 0, y: 0 };
    canvas.addEventListener("pointerdown", e => {
      Object.assign(pointer, { down: true, x: e.clientX, y: e.clientY });
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointerup", () => { pointer.down = false; });
    canvas.addEventListener("pointermove", e => {
      if (!pointer.down) return;
      this.camera.azimuth -= 0.008 * (e.clientX - pointer.x);
      this.camera.elevation = Math.min(1.5, Math.max(-1.5, this.camera.elevation + 0.008 * (e.clientY - pointer.y)));
      Object.assign(pointer, { x: e.clientX, y: e.clientY });
    });
    canvas.addEventListener("wheel", e => {
      e.preventDefault();
      this.camera.distance *= Math.exp(0.001 * e.deltaY);
    }, { passive: false });
    canvas.addEventListener("dblclick", () => { this.camera = { ...this.data.camera }; });
  }
}

function startScene(root, data) {
  const find = name => root.querySelector(`[data-part="${name}"]`);
  const canvas = find("canvas"), slider = find("slider"), button = find("play"), clock = find("clock");
  const scene = new Scene(canvas, data), end = data.times[data.times.length - 1];
  Object.assign(slider, { min: data.times[0], max: end, step: "any" });
  const setPlaying = isPlaying => {
    scene.isPlaying = isPlaying;
    button.textContent = isPlaying ? "❚❚" : "▶";
    button.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
  };
  button.addEventListener("click", () => setPlaying(!scene.isPlaying));
  slider.addEventListener("input", () => { setPlaying(false); scene.seek(Number(slider.value)); });
  find("speed").addEventListener("change", e => { scene.speed = Number(e.target.value); });
  let last = null;
  const tick = now => {
    if (last !== null) scene.advance(Math.min(0.1, (now - last) / 1000));
    last = now;
    scene.draw();
    const shown = Math.min(scene.time, end);
    slider.value = shown;
    clock.textContent = `${shown.toFixed(2)} s`;
    Object.assign(canvas.dataset, { time: shown.toFixed(4), drawn: scene.drawn });
    requestAnimationFrame(tick);
  };
  setPlaying(true);
  requestAnimationFrame(tick);
  return { scene, seek(time) { setPlaying(false); scene.seek(time); } };
}
