// Return how far apart two pictures are, 0 to 255, where they differ most: each is cut into a grid
// of 8 by 8 fields, whose average colors are compared.
async ([one, other]) => {
  const fields = 8;
  const read = async (data) => {
    const picture = new Image();
    picture.src = `data:image/png;base64,${data}`;
    await picture.decode();
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = fields;
    const pen = canvas.getContext("2d");
    pen.imageSmoothingQuality = "high";
    pen.drawImage(picture, 0, 0, fields, fields);
    return pen.getImageData(0, 0, fields, fields).data;
  };
  const [first, second] = [await read(one), await read(other)];
  return Math.max(...first.map((value, at) => Math.abs(value - second[at])));
}
